# SPDX-License-Identifier: MIT
# What the Vagrantfile needs beside vagrant-libvirt: the address of a machine of an ordinary user's libvirt, whether KVM
# works here, and the message for a box that nobody made yet.

module Spindle
  # A box is made on this machine, never fetched.
  class BoxMissing < Vagrant::Errors::VagrantError
    def initialize(name, file)
      super()
      @text = "#{name}: there is no box #{file}. " + REMEDIES.fetch(name)
    end

    REMEDIES = {
      'linux' => "Make it with `make box NAME=linux`; that takes Debian packages and no medium.",
      'freebsd' => "Prepare the system from its medium with `make guest NAME=freebsd MEDIA=FILE SHA256=SUM`, then pack it " \
                   "with `make box NAME=freebsd`.",
      'windows' => "Prepare the system from its medium with `make guest NAME=windows MEDIA=FILE SHA256=SUM`, then pack it " \
                   "with `make box NAME=windows`.",
    }.freeze

    def to_s
      @text
    end
    alias message to_s
  end

  KVM_GET_API_VERSION = 0xAE00
  KVM_CREATE_VM = 0xAE01

  # A /dev/kvm may be there and not for us, or make no machine.
  def self.kvm?
    File.open('/dev/kvm', 'r+') do |kvm|
      kvm.ioctl(KVM_GET_API_VERSION, 0) == 12 && IO.for_fd(kvm.ioctl(KVM_CREATE_VM, 0)).close.nil?
    end
  rescue SystemCallError
    false
  end

  # QEMU's own user network gives no lease that libvirt could look up; the forwarded port is on this machine. Networks
  # would be the system daemon's, which an ordinary user needs none of.
  module UserNetwork
    def get_ipaddress(*arguments)
      @machine.provider_config.qemu_use_session ? '127.0.0.1' : super
    end

    def list_all_networks
      @machine.provider_config.qemu_use_session ? [] : super
    end
  end

  # The plugin chooses the controller of the system disk only. Without a word of ours libvirt puts an LSI 53C895A before
  # the SCSI disks, which the lab does not have. The channel is for an agent of QEMU's that nobody asks; the path of its
  # socket would be too long for an ordinary user's libvirt where the home's name is a long one.
  module Machine
    def to_xml(*arguments)
      with_controller = super.sub('<devices>', "<devices>\n<controller type='scsi' model='virtio-scsi' index='0'/>")
      with_controller.gsub(%r{<channel\b.*?</channel>}m, '')
    end
  end
end

begin
  require 'vagrant-libvirt/action'
  require 'vagrant-libvirt/driver'
  VagrantPlugins::ProviderLibvirt::Driver.prepend(Spindle::UserNetwork)
  VagrantPlugins::ProviderLibvirt::Action::CreateDomain.prepend(Spindle::Machine)
rescue LoadError
  raise Vagrant::Errors::VagrantError.new, 'vagrant-libvirt is missing: envs/bootstrap boxes installs it'
end
